/* rotary.h — what a configuration says of stretched angles, checked before anything is made. */
#ifndef NN_ROTARY_H
#define NN_ROTARY_H

#include <hecate/position.h>

hec_status rotary_check_scaling(const hec_rotary_scaling *scaling, int64_t pairs);

#endif
