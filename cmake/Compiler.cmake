# Warnings, sanitizers and the floating-point contract, for every target of ours.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # false positives on std::string (GCC bug 105651)
endif()
if(EMLX_WERROR)
  add_compile_options(-Werror)
endif()
# Results must not depend on which multiplications the compiler happens to fuse.
add_compile_options(-ffp-contract=off)

if(EMLX_SANITIZE)
  if(EMLX_MLX)
    message(FATAL_ERROR "EMLX_SANITIZE needs EMLX_MLX=OFF: the MLX wheel is not instrumented")
  endif()
  add_compile_options(-fsanitize=${EMLX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${EMLX_SANITIZE})
endif()

find_program(EMLX_CCACHE ccache)
if(EMLX_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${EMLX_CCACHE})
endif()
