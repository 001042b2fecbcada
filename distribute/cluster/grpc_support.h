// SPDX-License-Identifier: Apache-2.0
// How this library uses gRPC: channels, credentials, bytes.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "distribute/cluster/tls.h"

namespace cornu::distribute {

// gRPC would write a line for each stranger who speaks it badly. What matters comes as a status.
void silence_grpc();

// Without proxies; each channel has connections of its own.
grpc::ChannelArguments channel_arguments();

// Of calls: who stands still is lost after 20 s, whether it is connected or is being connected to.
grpc::ChannelArguments call_arguments();

// A channel to a task, over TLS where there is an identity. It may be dropped on any thread.
std::shared_ptr<grpc::Channel> open_channel(const std::string& address,
                                            const std::shared_ptr<const TlsIdentity>& identity,
                                            const grpc::ChannelArguments& arguments);

std::shared_ptr<grpc::ServerCredentials> server_credentials(
    const std::shared_ptr<const TlsIdentity>& identity);

std::string text_of(const grpc::ByteBuffer& buffer);

}  // namespace cornu::distribute
