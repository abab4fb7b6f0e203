use super::*;

#[track_caller]
fn check(name: &str, want: Option<u64>) {
    assert_eq!(step_of(name), want, "{name}");
}

#[test]
fn steps() {
    check("step-00000260.npz", Some(260));
    check("epoch=3-step=1000.ckpt", Some(1000));
    check("checkpoint-500", Some(500));
    check("global_step5", Some(5));
    check("260", Some(260));
    check("weights.42.h5", Some(42));
    check("model.h5", None);
    check("v2.500", Some(500));
    check("last", None);
    check("ünd7ü.pt", Some(7));
    check("99999999999999999999999", None);
    check("", None);
}

/// A loss of 0.33 was step 33, rank 0 was step 0.
#[test]
fn names_of_frameworks() {
    // Lightning.
    check("epoch=12-val_loss=0.33.ckpt", Some(12));
    check("mnist-epoch=02-val_loss=0.32.ckpt", Some(2));
    check("epoch=3-step=1000-v1.ckpt", Some(1000));
    check("last-v2.ckpt", None);
    check(
        "model-epoch=02-val_acc=0.91-other_metric=0.03.ckpt",
        Some(2),
    );
    check("sample-mnist-epoch02-val_loss0.32.ckpt", Some(2));
    // Hugging Face, timm, torchtune.
    check("checkpoint-500", Some(500));
    check("pytorch_model-00001-of-00003.bin", None);
    check("checkpoint-12.pth.tar", Some(12));
    check("model_best.pth.tar", None);
    check("epoch_3", Some(3));
    check("hf_model_0001_3.pt", Some(3));
    // DeepSpeed, Megatron, fairseq.
    check("global_step1000", Some(1000));
    check("mp_rank_00_model_states.pt", None);
    check("iter_0000500", Some(500));
    check("checkpoint12.pt", Some(12));
    check("checkpoint_3_1500.pt", Some(1500));
    check("checkpoint.best_loss_3.21.pt", None);
    check("checkpoint_last.pt", None);
    // Composer, Keras, orbax, NeMo.
    check("ep1-ba500-rank0.pt", Some(500));
    check("latest-rank0.pt", None);
    check("weights.01-0.25.hdf5", Some(1));
    check("cp-0012.ckpt", Some(12));
    check("260", Some(260));
    check(
        "megatron_gpt--val_loss=2.35-step=3000-consumed_samples=96000.0-last.ckpt",
        Some(3000),
    );
    check("network-snapshot-000500.pkl", Some(500));
    check("ViT-L-14.epoch_7.pt", Some(7));
    check("ckpt_iter_4000.pth", Some(4000));
}

#[test]
fn names_by_hand() {
    check("s3-loss0.3333.pt", Some(3));
    check("model-loss0.50.bin", None);
    check("ep00-step0027", Some(27));
    check("model.step100", Some(100));
    check("model.fp16.pt", None);
    check("globalStep100_valLoss0.5.pt", Some(100));
    check("100_steps.pt", Some(100));
    check("100steps-loss2.pt", Some(100));
    check("epoch3step100.pt", Some(100));
    check("net-f1=0.93.ckpt", None);
    check("e5-f1_0.93.pt", Some(5));
    check("acc_93_5.pt", None);
    check("lr1e-05-step3.pt", Some(3));
    check("loss=1e-05.pt", None);
    check("loss=1.5e-05.pt", None);
    check("top5_acc=0.93-epoch=4.pt", Some(4));
    check("resnet50-epoch=12.pt", Some(12));
    check("cifar10_resnet18_loss0.33.pt", None);
    check("run1", None);
    check("my_exp2", None);
    check("version_0", None);
    check("model_140.pt", Some(140));
    check("reward-12.5.zip", None);
    check("rl_model_50000_steps.zip", Some(50000));
    check("epoch=3.5", Some(3));
}

/// Past midnight the newest was taken for the oldest, and 17:27:39 was step 62739.
#[test]
fn dates_and_times_are_no_steps() {
    check("ck_20261126_235959.bin", None);
    check("ck-2026-11-26T06:27:39.pt", None);
    check("ck_2026-11-26_06-27.pt", None);
    check("20261126235959", None);
    check("261126_062739.pt", None);
    check("Nov26_06-27-39_box", None);
    check("ck_06:27:39.bin", None);
    check("ck-1790000000.pt", None);
    check("ck-1790000000123.pt", None);
    check("20261126-step300.pt", Some(300));
    check("step_20261126", Some(20_261_126));
    check("step-00000260", Some(260));
    check("20261126_062739-12.pt", Some(12));
    check("model_2026.pt", Some(2026));
}

#[track_caller]
fn check_later(one: &str, other: &str, want: Option<Ordering>) {
    assert_eq!(compare_names(one, other), want, "{one} {other}");
}

#[test]
fn which_is_the_further() {
    let (less, greater) = (Some(Ordering::Less), Some(Ordering::Greater));
    check_later("a-10", "a-9", greater);
    check_later("a-10", "a-10", Some(Ordering::Equal));
    check_later("ep00-step0027", "ep01-step0015", less);
    check_later("step27-ep0", "step15-ep1", less);
    check_later("epoch=9-val_loss=0.33", "epoch=12-val_loss=0.10", less);
    check_later(
        "epoch=9-val_loss=0.33",
        "epoch=9-val_loss=0.30",
        Some(Ordering::Equal),
    );
    check_later("checkpoint_3_1500.pt", "checkpoint_4_20.pt", less);
    check_later("net2-loss0.33", "net2-loss0.31", None);
    check_later("loss0.33", "loss0.31", None);
    check_later("ck_20261126_235959", "ck_20261127_000012", None);
    check_later("epoch-3", "step-3000", less);
    check_later("last", "step-3000", None);
}

#[test]
fn tables_and_pictures_are_data() {
    for name in [
        "predictions.csv",
        "metrics.JSONL",
        "log.txt",
        "events.out.tfevents.179.box.1.0",
    ] {
        assert!(is_of_data(name), "{name}");
    }
    for name in ["checkpoint-10", "csv", "a.pt", "model.csv.pt", "table.npz"] {
        assert!(!is_of_data(name), "{name}");
    }
}

#[test]
fn names_of_one_series() {
    assert_eq!(series("epoch=13-step=1000.ckpt"), "epoch=#-step=#.ckpt");
    assert_eq!(series("last"), "last");
}
