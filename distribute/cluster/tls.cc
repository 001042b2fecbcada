// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <fstream>
#include <sstream>

#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

struct Freed {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
};
template <class T>
using Held = std::unique_ptr<T, Freed>;

// The oldest error in this thread's OpenSSL queue.
std::string complaint() {
  const unsigned long code = ERR_get_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason ? reason : "no reason is known";
}

std::string content_of(const std::string& variable, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  check<InvalidArgument>(file.is_open() && !text.str().empty(),
                         "{}: '{}' can't be read. It must be a file in PEM format.", variable,
                         path);
  return text.str();
}

Held<BIO> reader(const std::string& text) {
  return Held<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

}  // namespace

std::shared_ptr<const TlsIdentity> TlsIdentity::of_environment(const ReadVariable& read) {
  std::string missing;
  bool some = false;
  for (const char* name : {"CORNU_TLS_CERT", "CORNU_TLS_KEY", "CORNU_TLS_CA"}) {
    if (read(name)) {
      some = true;
    } else {
      missing += (missing.empty() ? "" : ", ") + std::string(name);
    }
  }
  if (!some) return nullptr;
  check<InvalidArgument>(missing.empty(),
                         "TLS takes CORNU_TLS_CERT, CORNU_TLS_KEY and CORNU_TLS_CA, files in PEM "
                         "format: {} isn't set. Set all of them, or none.",
                         missing);
  return std::shared_ptr<const TlsIdentity>(new TlsIdentity(read));
}

TlsIdentity::TlsIdentity(const ReadVariable& read)
    : path_(*read("CORNU_TLS_CERT")),
      certificate_(content_of("CORNU_TLS_CERT", path_)),
      key_(content_of("CORNU_TLS_KEY", *read("CORNU_TLS_KEY"))),
      authority_(content_of("CORNU_TLS_CA", *read("CORNU_TLS_CA"))),
      context_(SSL_CTX_new(TLS_method()), SSL_CTX_free) {
  ERR_clear_error();
  SSL_CTX* context = context_.get();
  check<Internal>(context && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1,
                  "TLS: OpenSSL makes no context: {}.", complaint());
  const Held<BIO> text = reader(certificate_);
  const Held<X509> certificate(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  check<InvalidArgument>(certificate && SSL_CTX_use_certificate(context, certificate.get()) == 1,
                         "CORNU_TLS_CERT: '{}' has no certificate: {}.", path_, complaint());
  while (X509* link = PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)) {
    SSL_CTX_add_extra_chain_cert(context, link);  // takes ownership
  }
  ERR_clear_error();  // the expected end-of-file error
  // Without a passphrase, as there is nobody to ask for one.
  const Held<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(reader(key_).get(), nullptr, nullptr, const_cast<char*>("")));
  check<InvalidArgument>(key != nullptr, "CORNU_TLS_KEY: '{}' has no private key: {}.",
                         *read("CORNU_TLS_KEY"), complaint());
  check<InvalidArgument>(SSL_CTX_use_PrivateKey(context, key.get()) == 1,
                         "CORNU_TLS_KEY: the key in '{}' isn't that of the certificate in '{}'.",
                         *read("CORNU_TLS_KEY"), path_);
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  const Held<BIO> authorities = reader(authority_);
  int count = 0;
  while (const Held<X509> one{PEM_read_bio_X509(authorities.get(), nullptr, nullptr, nullptr)}) {
    count += X509_STORE_add_cert(store, one.get());
  }
  check<InvalidArgument>(count > 0, "CORNU_TLS_CA: '{}' has no certificate: {}.",
                         *read("CORNU_TLS_CA"), complaint());
  ERR_clear_error();
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  check_certificate();
}

// Verifies the certificate as the other tasks would.
void TlsIdentity::check_certificate() const {
  const Held<X509_STORE_CTX> verification(X509_STORE_CTX_new());
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context_.get(), &chain);
  X509* own = SSL_CTX_get0_certificate(context_.get());
  check<Internal>(
      verification && X509_STORE_CTX_init(verification.get(),
                                          SSL_CTX_get_cert_store(context_.get()), own, chain) == 1,
      "TLS: OpenSSL verifies nothing: {}.", complaint());
  const bool is_valid = X509_verify_cert(verification.get()) == 1;
  check<InvalidArgument>(
      is_valid,
      "CORNU_TLS_CERT: the other tasks won't trust the certificate in '{}': {}. It must be signed "
      "by the authority in CORNU_TLS_CA, and be valid now.",
      path_, X509_verify_cert_error_string(X509_STORE_CTX_get_error(verification.get())));
}

}  // namespace cornu::distribute
