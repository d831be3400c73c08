#pragma once

#include <cstdint>

namespace emlx {

// A row of the model's embedding; never negative in valid data.
using TokenId = std::int32_t;

}  // namespace emlx
