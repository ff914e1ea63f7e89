/** A command that cannot be carried out. The message says what to do. `status` is the HTTP status of the answer. */
export class Refused extends Error {
  override readonly name = "Refused";
  constructor(
    readonly status: 400 | 403 | 404 | 409 | 503,
    message: string,
  ) {
    super(message);
  }
}
