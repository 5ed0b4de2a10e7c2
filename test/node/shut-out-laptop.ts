/** A laptop that was removed, in the hands of somebody who goes on with its keys: all that is on its disk, and nothing else. */
import { type Entry, hasBody, type Hex, openBody, openPrekey, parseEntry, type Prekey } from '../../protocol/index.ts'
import { decodeRow } from '../../src/node/rows.ts'
import { actor, emptyStory, type Story } from '../cast.ts'
import type { Disk } from './disk.ts'
import { workspaceOn } from './impostor.ts'
import { type Laptop, stoppedAcme, view, type World } from './world.ts'

/** acme with bob and those named, all running and connected. */
export async function running(...names: string[]): Promise<World> {
  const world = await stoppedAcme(...names)
  for (const name of ['bob', ...names]) await world.laptop(name).start()
  await world.connected()
  return world
}

/** The laptops of these names, one for each. */
export function laptops<const Names extends readonly string[]>(
  world: World,
  ...names: Names
): { [At in keyof Names]: Laptop } {
  return names.map((name) => world.laptop(name)) as { [At in keyof Names]: Laptop }
}

/** Entries of the one thread that a disk holds, in order of arrival. */
export async function entriesOn(disk: Disk): Promise<Entry[]> {
  return (await disk.rows('entry')).map(([, value]) => {
    const [envelope] = decodeRow(value) as [Uint8Array, number]
    const parsed = parseEntry(envelope)
    if (!parsed.ok) throw new Error('an entry on the disk does not parse')
    return parsed.value
  })
}

export const kindsOn = async (disk: Disk): Promise<string[]> => (await entriesOn(disk)).map(({ header }) => header.kind)

/** The thread as the disk of a removed laptop has it, to be written on by hand under the roster that it knew. */
export async function storyOn(disk: Disk): Promise<Omit<Story, 'create'>> {
  const workspace = await workspaceOn(disk)
  const story = emptyStory(workspace, [actor('bob')], [actor('frank')])
  for (const entry of await entriesOn(disk)) story.add(entry)
  return story
}

/** Every thread key that lies on the disk. */
export async function keysOn(disk: Disk): Promise<Uint8Array[]> {
  return (await disk.rows('secret')).flatMap(([name, key]) => (name.startsWith('thread/') ? [key] : []))
}

/** Ids of those entries at `laptop` whose body opens with a key that lies on the disk of `thief`. */
export async function readableWith(thief: Disk, laptop: Laptop): Promise<Hex[]> {
  const keys = await keysOn(thief)
  const bodies = new Map(await laptop.disk.rows('body'))
  return (await entriesOn(laptop.disk)).flatMap((entry) => {
    const { kind } = entry.header
    const sealed = bodies.get(entry.id)
    if (!sealed || !hasBody(kind)) return []
    return keys.some((key) => openBody(entry, kind, sealed, key).ok) ? [entry.id] : []
  })
}

/** Whether `device`, named `member/device`, is fenced in the thread as `laptop` shows it. */
export async function isFenced(laptop: Laptop, thread: string, device: string): Promise<boolean> {
  return (await view(laptop, thread)).participants.some((one) => one.device === device && one.fenced)
}

/** Forgets the prekey of a device. */
export function dropKeys(disk: Disk, device: Hex): Promise<void> {
  return disk.write([{ type: 'del', space: 'prekey', key: device }])
}

/** The newest prekey of each device. */
export async function prekeysOn(disk: Disk): Promise<Map<Hex, Prekey>> {
  return new Map(
    (await disk.rows('prekey')).flatMap(([device, record]): [Hex, Prekey][] => {
      const prekey = openPrekey(record)
      return prekey.ok ? [[device, prekey.value]] : []
    }),
  )
}
