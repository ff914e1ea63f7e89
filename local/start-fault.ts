/** The reason why the service cannot run. The message is for the user, and is shown without a stack trace. */
export class StartFault extends Error {
  override readonly name = "StartFault";
}
