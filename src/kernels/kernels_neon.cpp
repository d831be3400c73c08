// The kernels with neon instructions; nothing here may be linked into code for other machines, so
// all but the table has internal linkage (tools/check_kernel_symbols.py proves it).
#include "kernels/simd/neon.h"
// the lanes come first: the kernels are written on them
#include "kernels/body/table.h"

namespace emlx {

extern const KernelTable kNeonKernels;
const KernelTable kNeonKernels = make_table(CpuIsa::Neon);

}  // namespace emlx
