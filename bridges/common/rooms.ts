/** A room or a channel that the bridge should play games in. */
export interface RoomState {
  /** The id that the bridge reports to the service. */
  readonly id: string;
  /** The name that members know. */
  readonly name: string;
  /** Why members see no messages of games here, e.g. a ban; undefined if they do. Never contains secrets. */
  readonly problem: string | undefined;
  /** A limit of the games here that members notice, e.g. a missing power; undefined if there is none. */
  readonly note?: string | undefined;
}
