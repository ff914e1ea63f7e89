/** Why the service cannot run, in words for whoever started it: shown as it is, without a stack. */
export class StartFault extends Error {
  override readonly name = "StartFault";
}
