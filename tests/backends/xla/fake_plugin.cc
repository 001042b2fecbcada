// SPDX-License-Identifier: Apache-2.0
// A PJRT plugin that implements events and nothing else.
#include <cstring>

#include "framework/backends/xla/pjrt_api.h"
#include "tests/backends/xla/fake_event.h"

namespace cornu::xla {
namespace {

using test::FakeEvent;

template <class Arguments>
FakeEvent& event_of(void* arguments) {
  return *reinterpret_cast<FakeEvent*>(static_cast<Arguments*>(arguments)->event);
}
// An error is represented by its event.
template <class Arguments>
FakeEvent& failed_of(void* arguments) {
  const auto* error = static_cast<Arguments*>(arguments)->error;
  return *reinterpret_cast<FakeEvent*>(const_cast<pjrt::Error*>(error));
}

pjrt::Error* initialize(void*) { return nullptr; }

pjrt::Error* await(void* arguments) {
  FakeEvent& event = event_of<pjrt::EventAwait>(arguments);
  ++event.awaited;
  if (event.code == 0) return nullptr;
  ++event.errors;
  return reinterpret_cast<pjrt::Error*>(&event);
}

pjrt::Error* destroy(void* arguments) {
  ++event_of<pjrt::EventDestroy>(arguments).destroyed;
  return nullptr;
}

pjrt::Error* get_code(void* arguments) {
  auto* out = static_cast<pjrt::ErrorGetCode*>(arguments);
  out->code = failed_of<pjrt::ErrorGetCode>(arguments).code;
  return nullptr;
}

pjrt::Error* get_message(void* arguments) {
  auto* out = static_cast<pjrt::ErrorMessage*>(arguments);
  out->message = "it is lost";
  out->message_size = std::strlen(out->message);
  return nullptr;
}

pjrt::Error* destroy_error(void* arguments) {
  --failed_of<pjrt::ErrorDestroy>(arguments).errors;
  return nullptr;
}

}  // namespace
}  // namespace cornu::xla

extern "C" const cornu::xla::pjrt::Api* GetPjrtApi() {
  using namespace cornu::xla;
  static const pjrt::Api api = [] {
    pjrt::Api made{};
    made.head.struct_size = sizeof(pjrt::Api);
    made.version.major = pjrt::kMajorVersion;
    made.functions[pjrt::PluginInitialize::kFunction] = initialize;
    made.functions[pjrt::EventAwait::kFunction] = await;
    made.functions[pjrt::EventDestroy::kFunction] = destroy;
    made.functions[pjrt::ErrorGetCode::kFunction] = get_code;
    made.functions[pjrt::ErrorMessage::kFunction] = get_message;
    made.functions[pjrt::ErrorDestroy::kFunction] = destroy_error;
    return made;
  }();
  return &api;
}
