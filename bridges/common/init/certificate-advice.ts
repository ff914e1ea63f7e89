/** Forms of the problems that Node reports when it does not trust a certificate, as a code or in words. */
const UNTRUSTED = /CERT|SIGNATURE|ISSUER|self.signed/i;
const OTHER_HOST = /ALTNAME|does not match/i;
const WRONG_TIME = /EXPIRED|NOT_YET_VALID/i;

/**
 * Returns what to do about a problem with the certificate of a server; undefined if the problem is another one.
 *
 * @param setting the setting or the variable that names a file of trusted certificates
 */
export function certificateAdvice(problem: string, setting: string): string | undefined {
  if (OTHER_HOST.test(problem)) {
    return "the certificate is for another host: check the name of the server, or give the server a certificate for it";
  }
  if (!UNTRUSTED.test(problem)) return undefined;
  if (WRONG_TIME.test(problem)) return "check the certificate of the server, and the clock of this machine";
  return `if the server has its own authority, set ${setting} to the PEM file of this authority`;
}
