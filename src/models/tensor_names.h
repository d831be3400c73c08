// How files name a decoder's tensors.
#pragma once

#include <string>

namespace emlx {

// Module paths, to which files append ".weight", ".bias", ".scales" or ".biases". Those from
// attention_norm to down are of one layer, below layer_path.
struct TensorNames {
  const char* embedding;
  const char* layers;  // before a layer's number
  const char* attention_norm;
  const char *q, *k, *v, *q_norm, *k_norm, *o;
  const char* mlp_norm;
  const char *gate, *up, *down;
  const char* final_norm;
  const char* head;

  // `module` of layer `layer`: "model.layers.3.mlp.up_proj".
  std::string in_layer(int layer, const char* module) const;
};

extern const TensorNames kHuggingFaceNames;
extern const TensorNames kGgufNames;

}  // namespace emlx
