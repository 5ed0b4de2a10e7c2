/** A device key and a libp2p PeerId are two spellings of one Ed25519 public key. */
import { generateKeyPairFromSeed, publicKeyFromRaw } from '@libp2p/crypto/keys'
import type { Ed25519PrivateKey, PeerId } from '@libp2p/interface'
import { peerIdFromPublicKey, peerIdFromString } from '@libp2p/peer-id'
import type { DeviceKey } from './net.ts'

/** The libp2p identity of a device. `seed` is the 32-byte Ed25519 seed. */
export function privateKeyOfSeed(seed: Uint8Array): Promise<Ed25519PrivateKey> {
  return generateKeyPairFromSeed('Ed25519', seed)
}

export function deviceOfKey(key: Ed25519PrivateKey): DeviceKey {
  return Buffer.from(key.publicKey.raw).toString('hex')
}

/** Throws where `device` is not 64 hex characters. */
export function peerOfDevice(device: DeviceKey): PeerId {
  return peerIdFromPublicKey(publicKeyFromRaw(Buffer.from(device, 'hex')))
}

/** undefined for a peer whose key is not Ed25519: no device of ours has one. */
export function deviceOfPeer(peer: PeerId): DeviceKey | undefined {
  return peer.type === 'Ed25519' ? Buffer.from(peer.publicKey.raw).toString('hex') : undefined
}

/** The device that a PeerId in text names, undefined where there is none. */
export function deviceOfPeerText(text: string): DeviceKey | undefined {
  try {
    return deviceOfPeer(peerIdFromString(text))
  } catch {
    return undefined // Text from outside; whatever does not parse names no device.
  }
}
