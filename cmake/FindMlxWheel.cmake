# Finds MLX in the wheel that ensure_mlx (tools/setup.sh) unpacked; EMLX_MLX_DIR names another copy.
if(APPLE)
  set(_mlx_wheel mlx-metal-0.32.4)
else()
  set(_mlx_wheel mlx-cpu-0.32.4)
endif()
set(EMLX_MLX_DIR ${CMAKE_SOURCE_DIR}/.cache/${_mlx_wheel}/mlx CACHE PATH "folder that holds MLX's include/, lib/ and share/")
find_package(MLX CONFIG REQUIRED PATHS ${EMLX_MLX_DIR} NO_DEFAULT_PATH)
if(APPLE)
  # The wheel's config names frameworks inside its builder's Xcode path; users of the dylib need none of them.
  set_property(TARGET mlx PROPERTY INTERFACE_LINK_LIBRARIES "")
endif()
get_target_property(_mlx_includes mlx INTERFACE_INCLUDE_DIRECTORIES)
# SYSTEM: MLX's headers are not held to our warnings.
set_target_properties(mlx PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_mlx_includes}")
