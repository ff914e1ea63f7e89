import { CannotShow } from "chat-bridge-kit";

/**
 * The bridge cannot write to a channel until an operator of the channel changes something, e.g. a mode or a ban. A retry
 * after some time would be useless, so the bridge keeps the newest messages, and prints them when it can write again.
 */
export class ChannelUnable extends CannotShow {}
