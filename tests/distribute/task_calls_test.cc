// SPDX-License-Identifier: Apache-2.0
// Calls between tasks: messages, errors, and who may call.
#include <doctest/doctest.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <numeric>

#include "distribute/cluster/call_proofs.h"
#include "distribute/cluster/calls.h"
#include "distribute/cluster/grpc_support.h"
#include "tests/distribute/certificates.h"
#include "tests/distribute/clusters.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using namespace cornu::distribute;
using test::error_of;

namespace {

constexpr char kSecret[] = "a token of this job";

CallMessage answered(const std::string& method, const CallMessage& request) {
  if (method == "fail") raise<ResourceExhausted>("there is no room for {}", request.json.dump());
  CallMessage answer = request;
  answer.json = Json::object({{"method", method}, {"got", request.json}});
  return answer;
}

struct Answering {
  explicit Answering(const CallCredentials& credentials = {kSecret})
      : address(test::free_addresses(1)[0]),
        server(
            std::make_unique<CallServer>(Address::parse(address, "test"), answered, credentials)) {}
  std::string address;
  std::unique_ptr<CallServer> server;
};

// A call with metadata made up by the test.
grpc::Status raw_call(const std::string& address, const std::string& path,
                      const std::map<std::string, std::string>& metadata,
                      std::multimap<std::string, std::string>* trailing = nullptr) {
  auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(channel);
  grpc::ClientContext context;
  for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
  const grpc::ByteBuffer request = to_bytes({});
  grpc::ByteBuffer answer;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, path, {}, &request, &answer,
                 [&](grpc::Status status) { ended.set_value(std::move(status)); });
  const grpc::Status status = ended.get_future().get();
  if (trailing) {
    for (const auto& [key, value] : context.GetServerTrailingMetadata()) {
      trailing->emplace(std::string(key.data(), key.size()),
                        std::string(value.data(), value.size()));
    }
  }
  return status;
}

}  // namespace

TEST_CASE("a task answers calls, with tensors of any size, several at once") {
  Answering task;
  CallClient client(task.address, {kSecret});
  std::vector<float> many(1 << 20);
  std::iota(many.begin(), many.end(), 0.0f);
  const CallMessage request{Json::object({{"x", 1}}),
                            {Tensor::from(many), Tensor(true), Tensor::from<int64_t>({1, 2, 3}),
                             Tensor::empty({0, 5}, DType::Float64)}};
  std::vector<std::future<CallMessage>> pending;
  for (int i = 0; i < 8; ++i) pending.push_back(client.start("echo", request));
  for (auto& future : pending) {
    const CallMessage answer = future.get();
    CHECK(answer.json.dump() == R"({"method": "echo", "got": {"x": 1}})");
    REQUIRE(answer.tensors.size() == 4);
    CHECK(answer.tensors[0].to_vector<float>() == many);
    CHECK(answer.tensors[1].item<bool>());
    CHECK(answer.tensors[2].to_vector<int64_t>() == std::vector<int64_t>{1, 2, 3});
    CHECK(answer.tensors[3].shape() == Shape{0, 5});
  }
  CHECK(error_of([&] { client.call("fail", {}); }) == "ResourceExhausted: there is no room for {}");
}

TEST_CASE("a task that is gone is lost, and found when it is back") {
  Answering task;
  CallClient client(task.address, {kSecret});
  client.call("echo", {});
  task.server.reset();
  CHECK(error_of([&] {
          client.call("echo", {});
        }).starts_with("Unavailable: The task at " + task.address + " can't be reached: "));
  task.server = std::make_unique<CallServer>(Address::parse(task.address, "test"), answered,
                                             CallCredentials{kSecret});
  const auto calls = [&] {
    try {
      client.call("echo", {});
      return true;
    } catch (const TaskLost&) {
      return false;
    }
  };
  while (!calls()) std::this_thread::yield();
}

TEST_CASE("a task has as long to let itself be connected to as to show that it lives") {
  const grpc::ChannelArguments made = call_arguments();
  const grpc_channel_args arguments = made.c_channel_args();
  std::map<std::string, int> given;
  for (size_t i = 0; i < arguments.num_args; ++i) {
    const grpc_arg& argument = arguments.args[i];
    if (argument.type == GRPC_ARG_INTEGER) given[argument.key] = argument.value.integer;
  }
  const int silence = given[GRPC_ARG_KEEPALIVE_TIME_MS] + given[GRPC_ARG_KEEPALIVE_TIMEOUT_MS];
  CHECK(silence == 20'000);
  CHECK(given[GRPC_ARG_MIN_RECONNECT_BACKOFF_MS] == silence);
}

TEST_CASE("calls over TLS are those of tasks with certificates of one authority") {
  const test::Authority own("own"), another("another");
  Answering task({kSecret, test::identity_of(own)});
  const auto call = [&](const test::Identity& identity) {
    CallClient client(task.address, {kSecret, identity});
    return error_of([&] { client.call("echo", {}); });
  };
  CHECK(call(test::identity_of(own)) == "");
  for (const test::Identity& stranger : {test::identity_of(another), test::Identity()}) {
    CHECK(call(stranger).starts_with("Unavailable: The task at " + task.address +
                                     " can't be reached: "));
  }
}

TEST_CASE("who doesn't know the token neither calls nor answers") {
  Answering task;
  CallClient stranger(task.address, {"another token of a job"});
  CHECK(error_of([&] { stranger.call("echo", {}); }) ==
        "FailedPrecondition: The task at " + task.address +
            " doesn't know this job's token. Give all tasks the same CORNU_JOB_TOKEN.");
  const std::string path = std::string(kCallPath) + "echo";
  const auto code = [&](const std::map<std::string, std::string>& metadata) {
    return raw_call(task.address, path, metadata).error_code();
  };
  CHECK(code({}) == grpc::StatusCode::UNAUTHENTICATED);
  std::multimap<std::string, std::string> welcome;
  CHECK(raw_call(task.address, kHello, {{kNonce, "abc"}}, &welcome).ok());
  const std::string session = welcome.find(kSession)->second;
  CHECK(welcome.find(kProof)->second == server_proof(kSecret, session));
  const std::string key = session_key(kSecret, session);
  const auto metadata = [&](const std::string& number) {
    return std::map<std::string, std::string>{
        {kSession, session}, {kNumber, number}, {kProof, call_proof(key, number, path)}};
  };
  CHECK(code({{kSession, session}, {kNumber, "1"}, {kProof, std::string(64, '0')}}) ==
        grpc::StatusCode::UNAUTHENTICATED);
  CHECK(code(metadata("2")) == grpc::StatusCode::OK);
  CHECK(code(metadata("1")) == grpc::StatusCode::OK);
  CHECK(code(metadata("2")) == grpc::StatusCode::UNAUTHENTICATED);  // again
  CHECK(code(metadata("1")) == grpc::StatusCode::UNAUTHENTICATED);
  CHECK(code(metadata("no number")) == grpc::StatusCode::UNAUTHENTICATED);
  auto changed = metadata("3");
  changed[kSession][0] ^= 1;
  CHECK(code(changed) == grpc::StatusCode::UNAUTHENTICATED);
  CHECK(raw_call(task.address, "/cornu.Cluster/Session", {}).error_code() ==
        grpc::StatusCode::UNIMPLEMENTED);
}

TEST_CASE("what is no message is refused, wherever it is cut") {
  const CallMessage message{Json::object({{"x", 1}}), {Tensor::from<float>({1, 2, 3})}};
  const grpc::ByteBuffer bytes = to_bytes(message);
  std::vector<grpc::Slice> slices;
  REQUIRE(bytes.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  const auto parsed = [](const std::string& given) {
    const grpc::Slice slice(given);
    return error_of([&] { parse_call(grpc::ByteBuffer(&slice, 1)); });
  };
  CHECK(parsed(text) == "");
  for (size_t size = 0; size < text.size(); ++size) {
    CHECK(parsed(text.substr(0, size)).starts_with("DataLoss: Call: "));
  }
  CHECK(parsed(text + "x") == "DataLoss: Call: 1 bytes are left over.");
}
