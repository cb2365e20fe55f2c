/* lock.h — one run in a folder at a time. */
#ifndef TRAIN_LOCK_H
#define TRAIN_LOCK_H

#include <hecate/train.h>

#include "base/status.h"

/* An error where the lock is of another folder than dir. */
hec_status lock_check(const hec_train_lock *lock, const char *dir);

#endif
