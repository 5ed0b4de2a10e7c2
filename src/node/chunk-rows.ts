/** Chunks in the store: keys and values of their spaces. */
import type { Hex } from '../../protocol/index.ts'
import type { Store, Write } from '../store/store.ts'

// chunk: <thread>/<chunk> → sealed; present: that it is here; wanted: that it is to be fetched

/** A chunk that came or was made. */
export function putChunk(thread: Hex, chunk: Hex, sealed: Uint8Array): Write[] {
  const key = `${thread}/${chunk}`
  return [
    { type: 'put', space: 'chunk', key, value: sealed },
    putMark('present', thread, chunk),
    { type: 'del', space: 'wanted', key },
  ]
}

export function getChunk(store: Store, thread: Hex, chunk: Hex): Promise<Uint8Array | undefined> {
  return store.get('chunk', `${thread}/${chunk}`)
}

export function putMark(space: 'present' | 'wanted', thread: Hex, chunk: Hex): Write {
  return { type: 'put', space, key: `${thread}/${chunk}`, value: new Uint8Array(0) }
}

/** Chunks of which a space says something, of one thread or of all. */
export async function* readMarks(
  store: Store,
  space: 'present' | 'wanted' | 'chunk',
  thread?: Hex,
): AsyncIterable<[thread: Hex, chunk: Hex]> {
  for await (const [key] of store.range(space, thread === undefined ? {} : { gt: `${thread}/`, lt: `${thread}0` })) {
    const [of = '', chunk = ''] = key.split('/')
    yield [of, chunk]
  }
}
