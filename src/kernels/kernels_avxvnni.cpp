// The kernels with avxvnni instructions; nothing here may be linked into code for other machines,
// so all but the table has internal linkage (tools/check_kernel_symbols.py proves it).
#include "kernels/simd/avx2.h"
// the lanes come first: the kernels are written on them
#include "kernels/body/table.h"

namespace emlx {

extern const KernelTable kAvxVnniKernels;
const KernelTable kAvxVnniKernels = make_table(CpuIsa::AvxVnni);

}  // namespace emlx
