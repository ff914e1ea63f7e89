/** Looks host names up in DNS. */
export interface NameLookup {
  /** Every address of a name, in textual form. Throws when it has none or DNS does not answer. */
  addresses(name: string): Promise<readonly string[]>;
}
