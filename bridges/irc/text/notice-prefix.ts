/**
 * Returns the beginning of a notice about a channel. Clients show notices in a window for all channels, so a notice
 * names its channel.
 */
export function noticePrefix(channel: string): string {
  return `[${channel}] `;
}
