/** What an entry of each kind does, in words for people: the author's name stands before them. */
import type { Kind } from '../../protocol/index.ts'

export const SAYS: Readonly<Record<Kind, string>> = {
  create: 'hands off',
  accept: 'accepts',
  cancel: 'cancels',
  complete: 'completes',
  message: 'writes',
  revise: 'revises the record',
  annotate: 'annotates',
  resolve: 'resolves an annotation',
  approve: 'answers the proposed action',
  share: 'lets somebody read',
  wrap: 'changes the key',
  ack: 'acknowledges',
  fence: 'shuts a removed device out',
}
