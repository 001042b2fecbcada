// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/grpc_support.h"

#include <grpc/support/log.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace cornu::distribute {
namespace {

constexpr int kSignOfLife = 10'000;  // ms between heartbeats, and until one counts as missed
// gRPC's minimum backoff limits how long connecting may take: a task that hangs while a connection
// is being made gets as much time as one that is connected.
constexpr int kConnecting = 2 * kSignOfLife;

// A channel destroyed together with its stream would be destroyed on one of gRPC's threads, and
// destroying the last channel joins these threads, which can't join themselves. Unused channels are
// therefore destroyed here, when the next one is made; the newest stays.
void keep_channel(const std::shared_ptr<grpc::Channel>& channel) {
  static std::mutex mutex;
  static auto* const channels = new std::vector<std::shared_ptr<grpc::Channel>>;
  std::vector<std::shared_ptr<grpc::Channel>> unused;
  const std::lock_guard lock(mutex);
  channels->push_back(channel);
  const auto first = std::partition(channels->begin(), channels->end(),
                                    [](const auto& one) { return one.use_count() > 1; });
  std::move(first, channels->end(), std::back_inserter(unused));
  channels->erase(first, channels->end());
}

// Certificates are verified; the names in them are ignored.
std::shared_ptr<grpc::experimental::StaticDataCertificateProvider> certificates_of(
    const TlsIdentity& identity) {
  return std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
      identity.authority(), std::vector<grpc::experimental::IdentityKeyCertPair>{
                                {identity.key(), identity.certificate()}});
}

std::shared_ptr<grpc::ChannelCredentials> secured_channel(const TlsIdentity& identity) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(certificates_of(identity));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  return grpc::experimental::TlsCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> secured_server(const TlsIdentity& identity) {
  grpc::experimental::TlsServerCredentialsOptions options(certificates_of(identity));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace

std::string text_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

void silence_grpc() {
  if (std::getenv("GRPC_VERBOSITY")) return;
  gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
}

grpc::ChannelArguments channel_arguments() {
  silence_grpc();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // each connects by itself, immediately
  return arguments;
}

grpc::ChannelArguments call_arguments() {
  grpc::ChannelArguments arguments = channel_arguments();
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1);  // identity only
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kSignOfLife);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kSignOfLife);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnecting);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return arguments;
}

std::shared_ptr<grpc::Channel> open_channel(const std::string& address,
                                            const std::shared_ptr<const TlsIdentity>& identity,
                                            const grpc::ChannelArguments& arguments) {
  const auto credentials =
      identity ? secured_channel(*identity) : grpc::InsecureChannelCredentials();
  auto channel = grpc::CreateCustomChannel("dns:///" + address, credentials, arguments);
  keep_channel(channel);
  return channel;
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(
    const std::shared_ptr<const TlsIdentity>& identity) {
  return identity ? secured_server(*identity) : grpc::InsecureServerCredentials();
}

}  // namespace cornu::distribute
