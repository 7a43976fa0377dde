// A provider in Rust, by the library's C functions: an event of a manifest (docs/examples/sample.man).
//     rustc --edition 2021 -Lbuild/release -lautologger -C link-arg=-Wl,-rpath,$PWD/build/release docs/examples/provider.rs -o provider
//     ./provider [EVENTS]
use std::ffi::c_void;

#[repr(C)]
struct Guid(u32, u16, u16, [u8; 8]);
/// Id, version, channel, level, opcode, task, keyword.
#[repr(C)]
struct EventDescriptor(u16, u8, u8, u8, u8, u16, u64);
/// Address, size, kind.
#[repr(C)]
struct EventData(u64, u32, u32);

extern "C" {
    fn EventRegister(provider: *const Guid, callback: *const c_void, context: *mut c_void, handle: *mut u64) -> u32;
    fn EventUnregister(handle: u64) -> u32;
    fn EventWrite(handle: u64, descriptor: *const EventDescriptor, count: u32, data: *const EventData) -> u32;
}

/// A registered provider; its end unregisters it.
struct Provider(u64);

impl Provider {
    fn new(id: &Guid) -> Result<Provider, u32> {
        let mut handle = 0;
        match unsafe { EventRegister(id, std::ptr::null(), std::ptr::null_mut(), &mut handle) } {
            0 => Ok(Provider(handle)),
            error => Err(error),
        }
    }

    fn write(&self, descriptor: &EventDescriptor, values: &[&[u8]]) -> u32 {
        let data: Vec<EventData> = values.iter().map(|v| EventData(v.as_ptr() as u64, v.len() as u32, 0)).collect();
        unsafe { EventWrite(self.0, descriptor, data.len() as u32, data.as_ptr()) }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        unsafe { EventUnregister(self.0) };
    }
}

fn main() -> Result<(), u32> {
    let events = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(3u32);
    let id = Guid(0xc0e50003, 0x5a3b, 0x4f61, [0x8a, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x03]);
    let request = EventDescriptor(7, 0, 0, 4, 0, 0, 0x1);
    let provider = Provider::new(&id)?;
    for number in 0..events {
        let url: Vec<u8> = "/index\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        provider.write(&request, &[&number.to_le_bytes(), &url]);
    }
    Ok(())
}
