import { connections, badSignatures, unackedPosts, unreadPolls } from "./hostile/bridge";
import {
  holdEvents,
  manyCalls,
  operatorEvents,
  pushToDead,
  pushToRefusing,
  testEvents,
  unknownNames,
} from "./hostile/calls";
import { openPages, signIns } from "./hostile/dashboard";
import type { Attack } from "./hostile/hostile";
import { openFollows, openGroups, openWatches } from "./hostile/streams";

/** All attacks by one tenant on the resources that tenants share, by name. */
export const ATTACKS = {
  groups: openGroups,
  follows: openFollows,
  watches: openWatches,
  calls: manyCalls,
  "sign-ins": signIns,
  pages: openPages,
  "operator-events": operatorEvents,
  "test-events": testEvents,
  names: unknownNames,
  connections,
  "held-events": holdEvents,
  "unacked-posts": unackedPosts,
  "bad-signatures": badSignatures,
  "dead-bridge": pushToDead,
  "refusing-bridge": pushToRefusing,
  "unread-polls": unreadPolls,
} as const satisfies Readonly<Record<string, Attack>>;

export type AttackName = keyof typeof ATTACKS;
export const ATTACK_NAMES = Object.keys(ATTACKS) as readonly AttackName[];
