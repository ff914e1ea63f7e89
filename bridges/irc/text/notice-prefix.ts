/**
 * Returns the beginning of a notice about a channel. Many clients show the notices of all channels in one window, so a
 * notice names its channel.
 */
export function noticePrefix(channel: string): string {
  return `[${channel}] `;
}
