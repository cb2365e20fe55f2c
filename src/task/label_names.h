/* label_names.h — what labels are called, each by a name of its own. */
#ifndef TASK_LABEL_NAMES_H
#define TASK_LABEL_NAMES_H

#include <hecate/model.h>

/* Those of the model; "LABEL_2" where it has none; where several labels have one name, "NAME (2)" for each
 * of them. NULL: the model's are good as they are. */
hec_status label_names_make(const hec_model *model, char ***out /* [labels] */);
void label_names_free(char **names, int64_t labels); /* takes NULL and one that is half made */

#endif
