/** A room or a channel that the bridge should play games in. */
export interface RoomState {
  /** The id of the room that the bridge reports to the service. */
  readonly id: string;
  /** The name that members know. */
  readonly name: string;
  /**
   * Reason why members see no messages of games in this room, e.g. a ban; undefined if members see these messages.
   * Never contains secrets.
   */
  readonly problem: string | undefined;
  /** A limitation of the games in this room that members notice, e.g. a missing power; undefined if there is none. */
  readonly note?: string | undefined;
}
