/** The reason why the service cannot run. The message is for the user, and is shown without a stack trace. */
export class StartFault extends Error {
  override readonly name = "StartFault";
  /** @param isOfSetting whether the user must change a setting */
  constructor(
    message: string,
    readonly isOfSetting = false,
  ) {
    super(message);
  }
}
