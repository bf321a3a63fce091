// See tls.h.
#include "tests/github_server/tls.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

namespace lakeflow::github_server {
namespace {

struct deleter {
    void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
    void operator()(X509* p) const { X509_free(p); }
    void operator()(BIO* p) const { BIO_free(p); }
    void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
};
template <class T>
using owned = std::unique_ptr<T, deleter>;

void require(bool good, const char* what) {
    if (!good) throw std::runtime_error(std::string("OpenSSL: ") + what);
}

owned<EVP_PKEY> make_key() {
    owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
    require(key != nullptr, "no key");
    return key;
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    require(extension && X509_add_ext(certificate, extension.get(), -1) == 1, "extension refused");
}

// `issuer` null: signed by itself.
owned<X509> make_certificate(const char* name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key, long from, long to,
                             bool authority, const std::string& alternatives) {
    owned<X509> out(X509_new());
    require(out != nullptr && X509_set_version(out.get(), 2) == 1, "no certificate");
    std::uint64_t serial = 0;
    require(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1, "no random number");
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(out.get()), serial >> 1);
    X509_gmtime_adj(X509_getm_notBefore(out.get()), from);
    X509_gmtime_adj(X509_getm_notAfter(out.get()), to);
    X509_set_pubkey(out.get(), key);
    X509_NAME* subject = X509_get_subject_name(out.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    X509_set_issuer_name(out.get(), issuer ? X509_get_subject_name(issuer) : subject);
    X509* signer = issuer ? issuer : out.get();
    extend(out.get(), signer, NID_basic_constraints, authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    extend(out.get(), signer, NID_key_usage, authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
    extend(out.get(), signer, NID_subject_key_identifier, "hash");
    if (!authority) extend(out.get(), signer, NID_ext_key_usage, "serverAuth");
    if (!alternatives.empty()) extend(out.get(), signer, NID_subject_alt_name, alternatives);
    require(X509_sign(out.get(), issuer_key, EVP_sha256()) > 0, "not signed");
    return out;
}

template <class Write>
std::string pem(Write write) {
    const owned<BIO> memory(BIO_new(BIO_s_mem()));
    require(memory && write(memory.get()) == 1, "not written");
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
}

bool is_address(const std::string& name) {
    return name.find_first_not_of("0123456789.") == std::string::npos || name.find(':') != std::string::npos;
}

}  // namespace

tls_identity make_tls_identity(const server_config& config) {
    constexpr long day = 86400;
    std::string alternatives;
    const std::vector<std::string> names =
        config.tls_names.empty() ? std::vector<std::string>{"localhost", "127.0.0.1"} : config.tls_names;
    for (const std::string& name : names)
        alternatives += (alternatives.empty() ? "" : ",") + std::string(is_address(name) ? "IP:" : "DNS:") + name;
    const owned<EVP_PKEY> authority_key = make_key();
    const owned<X509> authority = make_certificate("Test authority of github-server", authority_key.get(), nullptr,
                                                   authority_key.get(), -day, 30 * day, true, "");
    const owned<EVP_PKEY> key = make_key();
    const bool self = config.tls_fault == "self_signed";
    const bool expired = config.tls_fault == "expired";
    const owned<X509> certificate = make_certificate("github-server", key.get(), self ? nullptr : authority.get(),
                                                     self ? key.get() : authority_key.get(), expired ? -10 * day : -day,
                                                     expired ? -day : 30 * day, false, alternatives);
    tls_identity out;
    out.authority_pem = pem([&](BIO* to) { return PEM_write_bio_X509(to, authority.get()); });
    out.certificate_pem = pem([&](BIO* to) { return PEM_write_bio_X509(to, certificate.get()); });
    out.key_pem =
        pem([&](BIO* to) { return PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
    return out;
}

}  // namespace lakeflow::github_server
