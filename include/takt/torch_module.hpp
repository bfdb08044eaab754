// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Compiled by the program with its own libtorch; link takt::torch and that libtorch.
#include <takt/torch.hpp>

#include <cctype>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <takt/detail/macros_begin.hpp>

#if TAKT_ENABLED
TAKT_BEGIN_NAMESPACE
#else
TAKT_BEGIN_OFF_NAMESPACE
#endif

/// A module of libtorch whose forward pass is a region, on the current stream where libtorch has one:
///
///     takt::TorchModule<torch::nn::Linear> head{"head", torch::nn::Linear(64, 10)};
///     register_module("head", head.module());
///     y = head(x);
///
/// Holds the module as libtorch's holders do: copies share it. An exception of forward() goes through. One thread at a
/// time for one module, as libtorch has it.
template <class Holder>
class TorchModule {
 public:
  /// \param name of the region; registered here, once.
  TorchModule(const char* name, Holder module) : key_(&takt::key(name, Kind::compute)), module_(std::move(module)) {}

  template <class... Arguments>
  auto operator()(Arguments&&... arguments) {
    const Scope region(*key_, torch_stream());
    return module_->forward(std::forward<Arguments>(arguments)...);
  }
  Holder& module() noexcept { return module_; }
  Holder& operator->() noexcept { return module_; }

 private:
  const Key* key_;
  Holder module_;
};

/// A torch::nn::Sequential each of whose children is such a region: by its name where it has one, else by type and
/// number, such as "Linear 0". Children that are added later are found at the next forward().
template <class Sequential>
class TorchLayers {
 public:
  explicit TorchLayers(Sequential layers) : layers_(std::move(layers)) { name_children(); }

  /// As that of Sequential: a layer takes what the one before it returns, of whatever type; the last one's is Result.
  template <class Result = at::Tensor, class... Inputs>
  Result forward(Inputs&&... inputs) {
    if (layers_->is_empty()) {  // libtorch says that it cannot be
      return layers_->template forward<Result>(std::forward<Inputs>(inputs)...);
    }
    if (keys_.size() != layers_->size()) { name_children(); }
    auto key = keys_.begin();
    const auto run = [&](auto& layer, auto&&... values) {
      const Scope region(**key++, torch_stream());
      return layer.any_forward(std::forward<decltype(values)>(values)...);
    };
    auto layer = layers_->begin();
    auto value = run(*layer, std::forward<Inputs>(inputs)...);
    while (++layer != layers_->end()) { value = run(*layer, std::move(value)); }
    return value.template get<Result>();
  }
  template <class... Inputs>
  auto operator()(Inputs&&... inputs) {
    return forward(std::forward<Inputs>(inputs)...);
  }
  Sequential& module() noexcept { return layers_; }

 private:
  void name_children() {
    keys_.clear();
    for (const auto& child : layers_->named_children()) {
      const std::string& name = child.key();
      const bool is_number = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0;
      const std::string full = is_number ? type_of(child.value()->name()) + " " + name : name;
      keys_.push_back(&takt::key(full.c_str(), Kind::compute));
    }
  }
  /// "Linear" of "torch::nn::LinearImpl".
  static std::string type_of(std::string type) {
    if (const std::size_t colon = type.rfind("::"); colon != std::string::npos) { type.erase(0, colon + 2); }
    const std::size_t impl = type.size() < 4 ? std::string::npos : type.rfind("Impl");
    return impl != std::string::npos && impl + 4 == type.size() ? type.substr(0, impl) : type;
  }

  Sequential layers_;
  std::vector<const Key*> keys_;
};

#if TAKT_ENABLED
TAKT_END_NAMESPACE
#else
TAKT_END_OFF_NAMESPACE
#endif

#include <takt/detail/macros_end.hpp>
