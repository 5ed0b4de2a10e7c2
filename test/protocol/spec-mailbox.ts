/** The worked example of the page on mailboxes: an item that Bob leaves for Frank, and how Frank asks for it. */
import {
  encodeMailbox,
  fromHex,
  type Hex,
  mailboxId,
  mailboxItemId,
  mailboxWriteKey,
  signingKey,
  signOpen,
  signPut,
} from '../../protocol/index.ts'
import { tagged } from '../../protocol/crypto.ts'
import { frank, seedOf } from '../cast.ts'
import { cborLines, heading, type HexLine, rawLines, taggedLines } from './hex-lines.ts'
import * as world from './spec-world.ts'

const DAY_MS = 24 * 60 * 60 * 1000

function hexLines(hex: Hex, note = ''): HexLine[] {
  return rawLines(fromHex(hex), note)
}

export function mailbox(): HexLine[] {
  const write = mailboxWriteKey(world.WORKSPACE_KEY, 0, frank.device)
  const read = signingKey(seedOf('mailbox', frank.name))
  const id = mailboxId({ writer: write.public, reader: read.public })
  const item = seedOf('item')
  const itemId = mailboxItemId(id, item)
  const nonce = seedOf('mailbox nonce')
  const server = signingKey(seedOf('server')).public
  const put = signPut({ key: write, reader: read.public, ttl: DAY_MS, item })
  const open = signOpen({ key: read, writer: write.public, nonce: Buffer.from(nonce).toString('hex'), server })
  return [
    heading('writer and reader key of Frank’s mailbox in epoch 0, and its id'),
    ...hexLines(write.public, 'writer'),
    ...hexLines(read.public, 'reader'),
    ...hexLines(id, 'id'),
    heading('the id of an item, here 32 bytes'),
    ...hexLines(itemId),
    heading('what the writer key signs'),
    ...taggedLines(tagged('mailbox-put', [fromHex(id), DAY_MS, fromHex(itemId)]), {
      notes: { 0: 'mailbox', 1: 'one day', 2: 'item' },
    }),
    heading('put'),
    ...cborLines(encodeMailbox(put)),
    heading('what the reader key signs'),
    ...taggedLines(tagged('mailbox-open', [nonce, fromHex(server), fromHex(id)]), {
      notes: { 0: 'nonce of the welcome', 1: 'key of the server', 2: 'mailbox' },
    }),
    heading('open'),
    ...cborLines(encodeMailbox(open)),
  ]
}
