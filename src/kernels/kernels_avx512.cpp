// The kernels with avx512 instructions; nothing here may be linked into code for other machines, so
// all but the table has internal linkage (tools/check_kernel_symbols.py proves it).
#include "kernels/simd/avx512.h"
// the lanes come first: the kernels are written on them
#include "kernels/body/table.h"

namespace emlx {

extern const KernelTable kAvx512Kernels;
const KernelTable kAvx512Kernels = make_table(CpuIsa::Avx512);

}  // namespace emlx
