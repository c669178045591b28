//! `cargo run --example example http://localhost:8080/v1/datasets/demo [token]`: lists nodes, reads, writes where that is allowed, and is refused.
use zarrd::Dataset;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().chain([String::new()]).collect();
    let dataset = Dataset { url: &args[1], token: &args[2] };
    println!("arrays: {}", dataset.list("solar")?[2..].join(" "));
    let (noon, shape) = dataset.read::<f32>("solar/irradiance", "12,::24,::48")?;
    println!("noon: {shape:?} {noon:.3?}");
    match dataset.write("solar/irradiance", "0,0,0:2", &[1.5f32, 2.5]) {
        Ok(()) => println!("written: {:.3?}", dataset.read::<f32>("solar/irradiance", "0,0,0:2")?.0),
        Err(error) => println!("written: {error}"),
    }
    if let Err(error) = dataset.read::<f32>("solar/irradiance", "999") {
        println!("refused: {error}");
    }
    Ok(())
}
