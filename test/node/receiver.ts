/** frank's node without its net: what takes in the entries of peers, and a story that mallory writes for it by hand. */
import { type CtlOf, type Hex, stateDigest } from '../../protocol/index.ts'
import { admit, type Admitted, createWaitingRoom, type WaitingRoom } from '../../src/node/admit.ts'
import { type Held, openHeld } from '../../src/node/held.ts'
import { decodeRow } from '../../src/node/rows.ts'
import type { Thread } from '../../src/node/threads.ts'
import { stateOf } from '../../src/node/tracker.ts'
import { type Actor, actor, dice, emptyStory, type Workspace } from '../cast.ts'
import type { Disk } from './disk.ts'
import { type SealedEntry, type SealedStory, sealedStory, workspaceOn } from './impostor.ts'
import { stoppedAcme, type World } from './world.ts'

export const mallory: Actor = actor('mallory')
export const frank: Actor = actor('frank')

export interface Receiver {
  readonly world: World
  readonly held: Held
  readonly room: WaitingRoom
  readonly disk: Disk
  readonly workspace: Workspace
  /** Takes in what `from` sent, in the order given. */
  take(items: readonly SealedEntry[], from?: Hex): Promise<Admitted>
  takeBytes(...envelopes: readonly Uint8Array[]): Promise<Admitted>
  thread(id: Hex): Promise<Thread>
  /** A thread from mallory to frank whose bodies open. */
  story(summary: string, ctl?: () => Partial<CtlOf<'create'>>): Promise<SealedStory>
}

export async function receiver(): Promise<Receiver> {
  return receiverIn(await stoppedAcme('frank', 'mallory'))
}

/** The same node, started anew on what its disk holds. */
export function restarted(before: Receiver): Promise<Receiver> {
  return receiverIn(before.world)
}

async function receiverIn(world: World): Promise<Receiver> {
  const laptop = world.laptop('frank')
  const { disk } = laptop
  const held = await openHeld({ store: disk.open(), system: laptop.system, key: frank.key })
  const workspace = await workspaceOn(disk)
  const room = createWaitingRoom()
  const throwDice = dice('mallory writes')
  return {
    world,
    held,
    room,
    disk,
    workspace,
    take: (items, from = mallory.device) =>
      admit(held, room, { from, items: items.map(({ entry, body }) => ({ envelope: entry.envelope, body })) }),
    takeBytes: (...envelopes) =>
      admit(held, room, { from: mallory.device, items: envelopes.map((envelope) => ({ envelope, body: null })) }),
    thread: (id) => held.turn(async () => held.threads.load(id)),
    story: (summary, ctl) =>
      sealedStory({
        workspace,
        disk,
        from: mallory,
        to: frank,
        dice: throwDice,
        body: { summary, artifacts: [] },
        ...(ctl ? { ctl } : {}),
      }),
  }
}

/** `count` handoffs from mallory to frank under keys that nobody holds: quickly made, and nothing but headers. */
export function* bareHandoffs(workspace: Workspace, count: number): Generator<SealedEntry> {
  const throwDice = dice('bare')
  for (let i = 0; i < count; i++) {
    const nonce = Buffer.from(throwDice(32)).toString('hex')
    const entry = emptyStory(workspace, [mallory], [frank]).draft(mallory, 'create', { nonce })
    yield { entry, body: null }
  }
}

/** What mallory says one after the other: entries that each build on the one before. */
export function sayMany(story: SealedStory, count: number, text = ''): SealedEntry[] {
  return Array.from({ length: count }, (_, i) => {
    const said = story.seal(mallory, 'message', { body: `${i} ${text}`, artifacts: [] })
    story.add(said.entry)
    return said
  })
}

export async function digestOf(at: Receiver, id: Hex): Promise<Hex> {
  const { graph, tracker } = await at.thread(id)
  return stateDigest(graph, stateOf(tracker, graph))
}

export interface Proof {
  refusal: string
  from: Hex
  envelope: Hex
}

/** The refused entries that are kept on a disk. */
export async function proofsOn(disk: Disk): Promise<Proof[]> {
  return (await disk.rows('refused')).map(([, value]) => JSON.parse(new TextDecoder().decode(value)) as Proof)
}

/** The greatest arrival number that was given out. */
export async function arrivalOn(disk: Disk): Promise<number> {
  const row = (await disk.rows('meta')).find(([key]) => key === 'arrival')
  return row ? (decodeRow(row[1]) as number) : 0
}
