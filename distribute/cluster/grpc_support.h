// SPDX-License-Identifier: Apache-2.0
// This library's use of gRPC: channels, credentials, bytes.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "distribute/cluster/tls.h"

namespace cornu::distribute {

// Silences gRPC's logging, which would write a line for every stranger that speaks the protocol
// badly. What matters is reported as a status.
void silence_grpc();

// Arguments for channels without proxies, each with its own connections.
grpc::ChannelArguments channel_arguments();

// Arguments for calls: an unresponsive peer is considered lost after 20 s, whether connected or
// being connected to.
grpc::ChannelArguments call_arguments();

// Opens a channel to a task, over TLS if there is an identity. It may be destroyed on any thread.
std::shared_ptr<grpc::Channel> open_channel(const std::string& address,
                                            const std::shared_ptr<const TlsIdentity>& identity,
                                            const grpc::ChannelArguments& arguments);

std::shared_ptr<grpc::ServerCredentials> server_credentials(
    const std::shared_ptr<const TlsIdentity>& identity);

std::string text_of(const grpc::ByteBuffer& buffer);

}  // namespace cornu::distribute
