/* dry.h — a table whose operations do nothing, to learn what a call takes of its arena. */
#ifndef BACKEND_DRY_H
#define BACKEND_DRY_H

#include "backend/backend.h"

/* Replaces every slot that is there. What is missing, and the sizes of packs, stay as they are. */
void dry_fill(backend *b);

#endif
