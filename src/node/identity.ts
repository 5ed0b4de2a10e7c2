/** The keys of this laptop: its device key, and the prekeys to which others wrap keys for it. */
import {
  derive,
  type Hex,
  type Prekey,
  prekeyPublic,
  type SigningKey,
  signingKey,
  signPrekey,
} from '../../protocol/index.ts'
import type { Write } from '../store/store.ts'
import type { System } from '../system.ts'
import { putPrekey, putSecret } from './rows.ts'

export interface NewPrekey {
  readonly prekey: Prekey
  /** Private half. */
  readonly seed: Uint8Array
  /** To be in the store before the public half is shown to anyone. */
  readonly writes: Write[]
}

/** Makes the prekey number `counter` of this device for a workspace. `deviceSeed`: 32 bytes. */
export async function makePrekey(options: {
  system: System
  deviceSeed: Uint8Array
  ws: Hex
  counter: number
}): Promise<NewPrekey> {
  const { system, deviceSeed, ws, counter } = options
  const seed = system.dice(32)
  const key = signingKey(deviceSeed)
  const fields = {
    ws,
    device: key.public,
    counter,
    x25519: await prekeyPublic(seed),
    mailbox: mailboxKey(deviceSeed).public,
    created: system.clock.now(),
  }
  const prekey = signPrekey(fields, key)
  return { prekey, seed, writes: [putSecret(`prekey/${prekey.id}`, seed), putPrekey(key.public, prekey.bytes)] }
}

/** The key that reads and empties this device's mailboxes: made from its device seed, so that no other device can make it. */
export function mailboxKey(deviceSeed: Uint8Array): SigningKey {
  return signingKey(derive(deviceSeed, new Uint8Array(0), 'mailbox', []))
}
