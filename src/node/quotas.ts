/** How much of others' this node keeps. Local: they may differ between peers and decide nothing. */
import {
  CARRIED_AUTHOR_SIZE_BYTES_MAX,
  CARRIED_SIZE_BYTES_MAX,
  FOREIGN_AUTHOR_SIZE_BYTES_MAX,
} from '../../protocol/index.ts'

export interface Quotas {
  /** Sealed bodies that are kept for others, bytes; 0 keeps none. */
  readonly carried: number
  /** … of one author. */
  readonly carriedOfAuthor: number
  /** Entries of one author in threads that this node takes no part in, bytes. */
  readonly foreignOfAuthor: number
}

export const DEFAULT_QUOTAS: Quotas = {
  carried: CARRIED_SIZE_BYTES_MAX,
  carriedOfAuthor: CARRIED_AUTHOR_SIZE_BYTES_MAX,
  foreignOfAuthor: FOREIGN_AUTHOR_SIZE_BYTES_MAX,
}
