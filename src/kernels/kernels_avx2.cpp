// The kernels with avx2 instructions; nothing here may be linked into code for other machines, so
// all but the table has internal linkage (tools/check_kernel_symbols.py proves it).
#include "kernels/simd/avx2.h"
// the lanes come first: the kernels are written on them
#include "kernels/body/table.h"

namespace emlx {

extern const KernelTable kAvx2Kernels;
const KernelTable kAvx2Kernels = make_table(CpuIsa::Avx2);

}  // namespace emlx
