const SELF_SIGNED = "the certificate is self-signed; get one from a public authority";
const CHAIN =
  "the certificate's chain does not lead to a public authority; serve the intermediate certificates too";
const NO_TLS = "the server on this port does not speak TLS; is it plain HTTP?";

/** Explanations of the error codes of Node and OpenSSL, for the owner of the workspace. */
const WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "the certificate has expired; renew it",
  CERT_NOT_YET_VALID: "the certificate is not valid yet; check the clock of the system that issued it",
  DEPTH_ZERO_SELF_SIGNED_CERT: SELF_SIGNED,
  SELF_SIGNED_CERT_IN_CHAIN: CHAIN,
  UNABLE_TO_GET_ISSUER_CERT: CHAIN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CHAIN,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CHAIN,
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host; get one that names this host",
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ECONNRESET: "the connection was closed during the handshake; is HTTPS served on this port?",
};

/**
 * Returns an explanation of a failed TLS handshake. `why` is the code of the error, or the message of an error
 * without a code.
 */
export function tlsFailure(why: string): string {
  return `the TLS handshake failed (${why}): ${WORDS[why] ?? "check the certificate and its chain"}`;
}
