// The kernels with scalar instructions; nothing here may be linked into code for other machines, so
// all but the table has internal linkage (tools/check_kernel_symbols.py proves it).
#include "kernels/simd/scalar.h"
// the lanes come first: the kernels are written on them
#include "kernels/body/table.h"

namespace emlx {

extern const KernelTable kScalarKernels;
const KernelTable kScalarKernels = make_table(CpuIsa::Scalar);

}  // namespace emlx
