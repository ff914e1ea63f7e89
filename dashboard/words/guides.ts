/**
 * Paths of the pages for people who write a bridge or a game. The dashboard's server serves these pages without
 * sign-in.
 */
export const GUIDES = {
  api: "/docs",
  bridge: "/guides/bridge-guide",
  events: "/guides/events",
  all: "/guides",
} as const;
