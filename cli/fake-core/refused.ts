/**
 * An error for a request or command that cannot be carried out. The message contains advice. `status` is the HTTP
 * status of the answer.
 */
export class Refused extends Error {
  override readonly name = "Refused";
  constructor(
    readonly status: 400 | 403 | 404 | 409 | 503,
    message: string,
  ) {
    super(message);
  }
}
