/* All loops for one instruction set (ISA, VECTOR_BYTES), in float32 and float64. */

#define DTYPE f32
#define REAL float
#define WHOLE int32_t
#include "kernel_loops.h"
#include "loops_pool.h"
#include "loops_forward_scalar.h"
#include "loops_forward.h"
#include "loops_grad_x_samples.h"
#include "loops_grad_x.h"
#include "loops_grad_weight.h"
#include "loops_grad_x_lanes.h"
#include "loops_backward_scalar.h"
#include "loops_backward.h"
#undef REAL
#undef WHOLE
#undef DTYPE

#define DTYPE f64
#define REAL double
#define WHOLE int64_t
#include "kernel_loops.h"
#include "loops_pool.h"
#include "loops_forward_scalar.h"
#include "loops_forward.h"
#include "loops_grad_x_samples.h"
#include "loops_grad_x.h"
#include "loops_grad_weight.h"
#include "loops_grad_x_lanes.h"
#include "loops_backward_scalar.h"
#include "loops_backward.h"
#undef REAL
#undef WHOLE
#undef DTYPE
