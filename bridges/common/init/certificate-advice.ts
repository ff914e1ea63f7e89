/** Matches the codes and the messages with which Node reports that it does not trust a certificate. */
const UNTRUSTED = /CERT|SIGNATURE|ISSUER|self.signed/i;
const OTHER_HOST = /ALTNAME|does not match/i;
const WRONG_TIME = /EXPIRED|NOT_YET_VALID/i;

/**
 * Returns what to do about a problem with a server's certificate; undefined if the problem is not about the
 * certificate.
 *
 * @param setting name of the setting or the variable for a file of trusted certificates
 */
export function certificateAdvice(problem: string, setting: string): string | undefined {
  if (OTHER_HOST.test(problem)) {
    return "the certificate is for another host: check the name of the server, or give the server a certificate for it";
  }
  if (!UNTRUSTED.test(problem)) return undefined;
  if (WRONG_TIME.test(problem)) return "check the certificate of the server, and the clock of this machine";
  return `if the server has its own authority, set ${setting} to the PEM file of this authority`;
}
