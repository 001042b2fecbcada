// SPDX-License-Identifier: Apache-2.0
// Mutual TLS: tasks authenticate each other by certificates and encrypt their traffic.
#pragma once

#include <memory>
#include <string>

#include "distribute/cluster/address.h"
#include "distribute/cluster/environment.h"
#include "framework/io/file_descriptor.h"

using SSL_CTX = struct ssl_ctx_st;

namespace cornu::distribute {

// A task's certificate and key, and the authority that has signed the certificates of all tasks.
// Anyone with a certificate from that authority is a task of the job: names in certificates aren't
// compared with addresses. Thread-safe.
class TlsIdentity {
 public:
  // Reads the PEM files named by CORNU_TLS_CERT, CORNU_TLS_KEY and CORNU_TLS_CA; returns null when
  // none of them is set. Throws InvalidArgument when one is missing or can't be read, when the key
  // doesn't match the certificate, when the authority hasn't signed it, or when it has expired.
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

// A TLS connection that is used like a plain one: what is written to the plain end is encrypted and
// sent by a thread of its own, which ends with this object or when either side closes.
class TlsLink {
 public:
  // Performs the handshake; the other end must do the same in the other role. Throws Unavailable,
  // with the reason, when it fails or takes too long.
  TlsLink(FileDescriptor socket, TlsRole role, const TlsIdentity& identity,
          const Patience& patience);
  ~TlsLink();
  TlsLink(const TlsLink&) = delete;
  TlsLink& operator=(const TlsLink&) = delete;

  // Returns the unencrypted end; call it only once.
  FileDescriptor take_plain();

 private:
  class Relay;
  std::unique_ptr<Relay> relay_;
};

}  // namespace cornu::distribute
