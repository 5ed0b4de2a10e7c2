/** What doctor says of removals: whether this laptop is in, who does not know of one yet, and what is not fenced off. */
import type { NodeStatus } from '../node/api.ts'
import type { Finding } from './doctor.ts'
import { keylessText } from './status.ts'

export function removalFinding(status: NodeStatus): Omit<Finding, 'check'> {
  const { node_state: state, unconfirmed, keyless, quarantined } = status
  if (state === 'removed') {
    return {
      state: 'failed',
      evidence: 'this device was removed from its workspace',
      cause: 'The workspace owner removed it, or its member.',
      next: 'What came before can be read: relay-node inbox. Ask the owner for a new invite, for another home.',
    }
  }
  if (keyless.length > 0) {
    return {
      state: 'note',
      evidence: keyless.map(keylessText).join(' '),
      cause: 'A laptop was removed that has the key of those handoffs.',
      next: 'Nothing is written there before. Keys come when a teammate is met; relay-node status shows who is reachable.',
    }
  }
  if (unconfirmed.length > 0) {
    return {
      state: 'note',
      evidence: `not confirmed by ${unconfirmed.join(', ')}`,
      cause: 'Those laptops have not said yet that they know who was removed: they may still serve who is out.',
      next: 'Nothing to do: they learn it from the next laptop they meet. relay-node member list shows who is left.',
    }
  }
  if (quarantined > 0) {
    return {
      state: 'note',
      evidence: `${quarantined} handoffs from laptops that had been removed are kept apart`,
      cause: 'They came after the removal; whoever has such a laptop can say that they are old.',
      next: 'relay-node quarantine list',
    }
  }
  return { state: 'ok', evidence: 'everybody knows who is in' }
}
