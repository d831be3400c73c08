// A model that says what it was told to, ready to be served.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "engine/test_support.h"
#include "engine/text_model.h"

namespace emlx {

// "tiny-model", whose prompt is the messages' contents, one after another.
inline TextModel tiny_text_model() {
  Model model;
  model.name = "tiny-model";
  model.tokenizer_json = tiny_tokenizer_json();
  model.chat_template =
      "{% for m in messages %}{% if m.content == 'raise' %}"
      "{{ raise_exception('roles must alternate') }}{% endif %}{{ m.content }}{% endfor %}";
  model.eos = {kEndOfText};
  return make_text_model(std::make_shared<const Model>(std::move(model)));
}

// The model, an engine over `script`, and a probe into the engine's executor.
struct TinyService {
  explicit TinyService(ScriptedOptions script, std::size_t queue = 64)
      : engine(text.tokenizer, text.eos,
               [script = std::move(script), probe = probe] {
                 return std::make_unique<HookedExecutor>(std::make_unique<ScriptedExecutor>(script),
                                                         probe);
               },
               {queue}) {}

  ~TinyService() { probe->open_gates(); }

  // Waits until nothing runs or waits; false if that takes too long.
  bool idle() {
    for (int i = 0; i < 2000; ++i) {
      const EngineStatus status = engine.status();
      if (status.active == 0 && status.queued == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  const std::shared_ptr<ExecutorProbe> probe = std::make_shared<ExecutorProbe>();
  const TextModel text = tiny_text_model();
  Engine engine;
};

// {"messages":[{"role":"user","content":"hi"}], ...fields}
inline std::string chat_body(const std::string& fields = "") {
  return R"({"messages":[{"role":"user","content":"hi"}])" + (fields.empty() ? "" : "," + fields) +
         "}";
}

}  // namespace emlx
