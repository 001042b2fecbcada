// SPDX-License-Identifier: Apache-2.0
// Mutual TLS: how tasks know each other by certificates, and keep what they exchange private.
#pragma once

#include <memory>
#include <string>

#include "distribute/cluster/address.h"
#include "distribute/cluster/environment.h"
#include "framework/io/file_descriptor.h"

using SSL_CTX = struct ssl_ctx_st;

namespace cornu::distribute {

// A task's certificate and key, and the authority that has signed those of all tasks. Whoever has a
// certificate of that authority is a task of the job: names in certificates aren't compared with
// addresses. Thread-safe.
class TlsIdentity {
 public:
  // Of the files (PEM) that CORNU_TLS_CERT, CORNU_TLS_KEY and CORNU_TLS_CA name; none where none of
  // them is set. InvalidArgument where one is missing or can't be read, the key isn't the
  // certificate's, or the authority hasn't signed it, or its time is over.
  static std::shared_ptr<const TlsIdentity> of_environment(
      const ReadVariable& read = process_variable);

  const std::string& certificate() const { return certificate_; }
  const std::string& key() const { return key_; }
  const std::string& authority() const { return authority_; }
  SSL_CTX* context() const { return context_.get(); }

 private:
  explicit TlsIdentity(const ReadVariable& read);
  void check_certificate() const;

  std::string path_;  // of the certificate
  std::string certificate_;
  std::string key_;
  std::string authority_;
  std::shared_ptr<SSL_CTX> context_;
};

enum class TlsRole { Connects, Accepts };

// A connection over TLS that others use as one without: what they write into plain() is encrypted
// and sent by a thread of its own, which ends with it, or when either side closes.
class TlsLink {
 public:
  // Makes the handshake on a connection that the other end treats likewise, in the other role.
  // Unavailable, with the reason, where it fails or takes too long.
  TlsLink(FileDescriptor socket, TlsRole role, const TlsIdentity& identity,
          const Patience& patience);
  ~TlsLink();
  TlsLink(const TlsLink&) = delete;
  TlsLink& operator=(const TlsLink&) = delete;

  // The end without encryption; called once.
  FileDescriptor take_plain();

 private:
  class Relay;
  std::unique_ptr<Relay> relay_;
};

}  // namespace cornu::distribute
